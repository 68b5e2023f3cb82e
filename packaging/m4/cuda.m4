# cuda.m4 - nvcc and the libraries of CUDA, for dnnest-dev bench
#
# SPDX-License-Identifier: GPL-2.0-or-later

# DN_CUDA
# --with-cuda=DIR|no: nvcc, cuBLAS and cuDNN below DIR, or beside the nvcc of PATH. If one of
# them is missing, the GPU part of dnnest-dev bench is left out; this is an error only with
# --with-cuda. NCCL is used if present.
# Sets HAVE_CUDA, NVCC, CUDA_CPPFLAGS, CUDA_LIBS and dn_cuda_text.
AC_DEFUN([DN_CUDA],
  [AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR],
      [directory of CUDA; --without-cuda leaves the GPU part out of dnnest-dev bench])],
    [], [with_cuda=check])
   AC_ARG_VAR([NVCC], [the CUDA compiler])
   AC_ARG_VAR([NVCCFLAGS], [its flags, such as -arch=native])
   dn_cuda_text=no
   dn_cuda_dir=
   dn_cuda_missing=
   AS_CASE([$with_cuda],
     [no], [],
     [yes|check], [AC_PATH_PROGS([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])],
     [AC_PATH_PROGS([NVCC], [nvcc], [], [$with_cuda/bin])
      dn_cuda_dir=$with_cuda])
   AS_IF([test "$with_cuda" != no],
    [AS_IF([test -z "$NVCC"], [dn_cuda_missing=nvcc], [DN_CUDA_LIBRARIES])
     AS_IF([test -z "$dn_cuda_missing"], [dn_cuda_text="yes ($NVCC, NCCL: $dn_cuda_nccl)"],
       [test "$with_cuda" != check],
       [AC_MSG_ERROR([--with-cuda=$with_cuda: $dn_cuda_missing not found])],
       [dn_cuda_text="no ($dn_cuda_missing not found)"])])
   AC_SUBST([CUDA_CPPFLAGS])
   AC_SUBST([CUDA_LIBS])
   AM_CONDITIONAL([HAVE_CUDA],
     [test "$with_cuda" != no && test -z "$dn_cuda_missing"])])

# DN_CUDA_TRY(HEADER, FUNCTION-CALL, LIBS, IF-LINKED, IF-NOT)
# Compile and link with nvcc itself: it knows the directories of its libraries.
AC_DEFUN([DN_CUDA_TRY],
  [AC_MSG_CHECKING([for $1 with $NVCC])
   cat > conftest.cu <<DN_END
#include <$1>
int main () { return (int) ($2); }
DN_END
   AS_IF([$NVCC $NVCCFLAGS $CUDA_CPPFLAGS $dn_cuda_ldflags -o conftest conftest.cu $3 >&AS_MESSAGE_LOG_FD 2>&1],
    [AC_MSG_RESULT([yes])
     $4],
    [AC_MSG_RESULT([no])
     $5])
   rm -f conftest.cu conftest])

# The libraries below dn_cuda_dir; without it, below the directory that nvcc reports.
AC_DEFUN([DN_CUDA_LIBRARIES],
  [AS_IF([test -z "$dn_cuda_dir"],
    [dn_cuda_dir=`$NVCC --dryrun -x cu -c /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p'`
     AS_IF([test -n "$dn_cuda_dir"], [dn_cuda_dir=`cd "$dn_cuda_dir" 2>/dev/null && pwd`])])
   CUDA_CPPFLAGS=
   dn_cuda_ldflags=
   dn_cuda_nccl=no
   AS_IF([test -n "$dn_cuda_dir" && test -d "$dn_cuda_dir/include"],
    [CUDA_CPPFLAGS="-I$dn_cuda_dir/include"])
   for dn_dir in lib64 lib; do
     AS_IF([test -n "$dn_cuda_dir" && test -d "$dn_cuda_dir/$dn_dir"],
      [dn_cuda_ldflags="$dn_cuda_ldflags -L$dn_cuda_dir/$dn_dir"])
   done
   DN_CUDA_TRY([cuda_runtime.h], [cudaGetLastError ()], [],
     [], [dn_cuda_missing="a CUDA runtime that nvcc can compile for"])
   AS_IF([test -z "$dn_cuda_missing"],
    [DN_CUDA_TRY([cublas_v2.h], [cublasCreate (nullptr) + (cublasGetStatusString (CUBLAS_STATUS_SUCCESS) == nullptr)], [-lcublas],
       [], [dn_cuda_missing=cuBLAS])])
   AS_IF([test -z "$dn_cuda_missing"],
    [DN_CUDA_TRY([cudnn.h], [cudnnCreate (nullptr) + cudnnRNNForward (0, 0, CUDNN_FWD_MODE_TRAINING, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)], [-lcudnn],
       [], [dn_cuda_missing="cuDNN 8 or later"])])
   AS_IF([test -z "$dn_cuda_missing"],
    [CUDA_LIBS="$dn_cuda_ldflags -lcudnn -lcublas"
     DN_CUDA_TRY([nccl.h], [ncclGroupStart ()], [-lnccl],
      [dn_cuda_nccl=yes
       CUDA_CPPFLAGS="$CUDA_CPPFLAGS -DDN_HAVE_NCCL"
       CUDA_LIBS="$CUDA_LIBS -lnccl"])
     CUDA_LIBS="$CUDA_LIBS -lcudart -ldl -lstdc++"])])
